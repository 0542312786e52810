"""Getters, setters and computed attributes that check what is assigned."""
class Temperature:
    def __init__(self, celsius=0.0):
        self.celsius = celsius

    @property
    def celsius(self):
        """Degrees Celsius."""
        return self._celsius

    @celsius.setter
    def celsius(self, value):
        if value < -273.15:
            raise ValueError("below absolute zero")
        self._celsius = float(value)

    @property
    def fahrenheit(self):
        return self._celsius * 9 / 5 + 32

    @fahrenheit.setter
    def fahrenheit(self, value):
        self.celsius = (value - 32) * 5 / 9


def fit_and_eval(data):
    t = Temperature(25)
    before = t.fahrenheit
    t.fahrenheit = 212
    return {
        "before": before,
        "after": t.celsius,
        "all": [Temperature(x).fahrenheit for x in data],
        "has": hasattr(t, "kelvin"),
        "default": getattr(t, "kelvin", None),
    }


# data and metrics
DATA = [1, 2, 3, 4, 5]
METRICS = {'before': 77.0,
 'after': 100.0,
 'all': [33.8, 35.6, 37.4, 39.2, 41.0],
 'has': False,
 'default': None}
