"""Descriptors that check, classes that register themselves, copies by one's own rule."""
import copy


class Positive:
    def __set_name__(self, owner, name):
        self.name = "_" + name

    def __get__(self, instance, owner=None):
        if instance is None:
            return self
        return getattr(instance, self.name)

    def __set__(self, instance, value):
        if value <= 0:
            raise ValueError(f"{self.name[1:]} must be positive")
        setattr(instance, self.name, value)


class Lazy:
    def __init__(self, function):
        self.function = function
        self.calls = 0

    def __get__(self, instance, owner=None):
        self.calls += 1
        return self.function(instance)


class Shape:
    registry = {}

    def __init_subclass__(cls, tag=None, **kwargs):
        super().__init_subclass__(**kwargs)
        Shape.registry[tag or cls.__name__.lower()] = cls

    def __class_getitem__(cls, tag):
        return cls.registry[tag]


class Rectangle(Shape, tag="rect"):
    width = Positive()
    height = Positive()

    def __init__(self, width, height):
        self.width = width
        self.height = height
        self.copies = 0

    @Lazy
    def area(self):
        return self.width * self.height

    def __copy__(self):
        twin = Rectangle(self.width, self.height)
        twin.copies = self.copies + 1
        return twin

    def __deepcopy__(self, memo):
        return copy.copy(copy.copy(self))


class Circle(Shape):
    pass


def fit_and_eval(data):
    box = Rectangle(2, 3)
    box.width = 5
    return {
        "area": box.area,
        "registry": sorted(Shape.registry),
        "made": Shape["rect"](1, 2).area,
        "copies": [copy.copy(box).copies, copy.deepcopy(box).copies],
        "name": Rectangle.width.name,
    }


# data and metrics
DATA = [1, 2, 3, 4, 5]
METRICS = {'area': 15,
 'registry': ['circle', 'rect'],
 'made': 2,
 'copies': [1, 2],
 'name': '_width'}
