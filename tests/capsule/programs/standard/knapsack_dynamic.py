"""Dynamic programs: knapsack, longest common subsequence, coins, Pascal."""
from functools import lru_cache
from itertools import accumulate


def knapsack(weights, values, capacity):
    best = [0] * (capacity + 1)
    for weight, value in zip(weights, values):
        for c in range(capacity, weight - 1, -1):
            best[c] = max(best[c], best[c - weight] + value)
    return best[capacity]


def common_subsequence(a, b):
    @lru_cache(maxsize=None)
    def solve(i, j):
        if i == len(a) or j == len(b):
            return ""
        if a[i] == b[j]:
            return a[i] + solve(i + 1, j + 1)
        return max(solve(i + 1, j), solve(i, j + 1), key=len)

    return solve(0, 0)


def coin_ways(coins, amount):
    ways = [1] + [0] * amount
    for coin in coins:
        for i in range(coin, amount + 1):
            ways[i] += ways[i - coin]
    return ways[amount]


def pascal(n):
    rows = [[1]]
    for _ in range(n - 1):
        rows.append([a + b for a, b in zip([0, *rows[-1]], [*rows[-1], 0])])
    return rows


def max_subarray(values):
    return max(accumulate(values, lambda best, x: max(x, best + x)))


def queens(n, row=0, columns=frozenset(), up=frozenset(), down=frozenset()):
    if row == n:
        return 1
    return sum(
        queens(n, row + 1, columns | {c}, up | {row + c}, down | {row - c})
        for c in range(n)
        if c not in columns and row + c not in up and row - c not in down
    )


def fit_and_eval(data):
    return {
        "knapsack": knapsack([1, 3, 4, 5], [1, 4, 5, 7], 7),
        "common": common_subsequence("AGGTAB", "GXTXAYB"),
        "coins": coin_ways([1, 2, 5, 10, 25], 100),
        "pascal": pascal(5),
        "subarray": max_subarray([-2, 1, -3, 4, -1, 2, 1, -5, 4]),
        "queens": queens(6),
    }


# data and metrics
DATA = [1, 2, 3, 4, 5]
METRICS = {'knapsack': 9,
 'common': 'GTAB',
 'coins': 3546,
 'pascal': [[1], [1, 1], [1, 2, 1], [1, 3, 3, 1], [1, 4, 6, 4, 1]],
 'subarray': 6,
 'queens': 4}
