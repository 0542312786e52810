"""Names with underscores: protected, mangled, shared between objects of a class."""
class Account:
    __rate = 0.5
    _registry = []

    def __init__(self, owner, balance=0):
        self._owner = owner
        self.__balance = balance
        Account._registry.append(self)

    def __interest(self):
        return self.__balance * Account.__rate

    def _log(self, text):
        return f"{self._owner}: {text}"

    def grow(self):
        self.__balance += self.__interest()
        return self

    def transfer(self, other, amount):
        self.__balance -= amount
        other.__balance += amount
        return self._log(f"{amount} to {other._owner}")

    @property
    def balance(self):
        return self.__balance


class Savings(Account):
    def report(self):
        return self._log(f"{self.balance:.1f}") + "/" + super()._log("saved")


class Single:
    _instance = None

    def __new__(cls):
        if cls._instance is None:
            cls._instance = super().__new__(cls)
        return cls._instance


def fit_and_eval(data):
    first, second = Account("Ada", 100), Savings("Bob", 10)
    text = first.grow().transfer(second, 50)
    return {
        "balances": [first.balance, second.balance],
        "text": text,
        "report": second.report(),
        "owners": [account._owner for account in Account._registry],
        "single": Single() is Single(),
        "hidden": [hasattr(first, "_owner"), hasattr(first, "__balance")],
    }


# data and metrics
DATA = [1, 2, 3, 4, 5]
METRICS = {'balances': [100.0, 60],
 'text': 'Ada: 50 to Bob',
 'report': 'Bob: 60.0/Bob: saved',
 'owners': ['Ada', 'Bob'],
 'single': True,
 'hidden': [True, False]}
