"""A linked list, a search tree, a trie and a small stack machine."""
from dataclasses import dataclass
from typing import Iterator, Optional


class Node:
    def __init__(self, value, next=None):
        self.value, self.next = value, next


class LinkedList:
    def __init__(self, items=()):
        self._head = None
        self._size = 0
        for item in items:
            self.append(item)

    def append(self, value):
        if self._head is None:
            self._head = Node(value)
        else:
            node = self._head
            while node.next:
                node = node.next
            node.next = Node(value)
        self._size += 1

    def __iter__(self):
        node = self._head
        while node:
            yield node.value
            node = node.next

    def __len__(self):
        return self._size

    def reverse(self):
        previous, current = None, self._head
        while current:
            current.next, previous, current = previous, current, current.next
        self._head = previous
        return self

    def __eq__(self, other):
        return isinstance(other, LinkedList) and self._size == other._size and list(self) == list(other)


@dataclass
class Tree:
    key: int
    left: Optional["Tree"] = None
    right: Optional["Tree"] = None

    def insert(self, key: int) -> None:
        side = "left" if key < self.key else "right"
        child = getattr(self, side)
        if child is None:
            setattr(self, side, Tree(key))
        else:
            child.insert(key)

    def __iter__(self) -> Iterator[int]:
        if self.left:
            yield from self.left
        yield self.key
        if self.right:
            yield from self.right


class Trie:
    def __init__(self):
        self.children, self.end = {}, False

    def add(self, word):
        node = self
        for letter in word:
            node = node.children.setdefault(letter, Trie())
        node.end = True

    def __contains__(self, word):
        node = self
        for letter in word:
            if letter not in node.children:
                return False
            node = node.children[letter]
        return node.end


class Machine:
    OPERATIONS = {"ADD": lambda a, b: a + b, "MUL": lambda a, b: a * b}

    def __init__(self):
        self.stack, self._counter = [], 0

    def run(self, program):
        while self._counter < len(program):
            name, *arguments = program[self._counter]
            if name == "PUSH":
                self.stack.append(arguments[0])
            else:
                b, a = self.stack.pop(), self.stack.pop()
                self.stack.append(self.OPERATIONS[name](a, b))
            self._counter += 1
        return self.stack[-1]


def fit_and_eval(data):
    items = LinkedList(data)
    tree = Tree(5)
    for key in (3, 8, 1):
        tree.insert(key)
    trie = Trie()
    trie.add("abc")
    return {
        "reversed": list(items.reverse()),
        "equal": items == LinkedList(data[::-1]),
        "size": len(items),
        "tree": list(tree),
        "trie": ["abc" in trie, "ab" in trie, "x" in trie],
        "machine": Machine().run([("PUSH", 2), ("PUSH", 3), ("ADD",), ("PUSH", 4), ("MUL",)]),
    }


# data and metrics
DATA = [1, 2, 3, 4, 5]
METRICS = {'reversed': [5, 4, 3, 2, 1],
 'equal': True,
 'size': 5,
 'tree': [1, 3, 5, 8],
 'trie': [True, False, False],
 'machine': 20}
