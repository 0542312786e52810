"""Accounts with a history, errors of their own, and a report."""
from collections import defaultdict
from dataclasses import dataclass, field
from datetime import date, timedelta
from decimal import Decimal
from enum import Enum


class InsufficientFunds(Exception):
    def __init__(self, needed, available):
        super().__init__(f"need {needed}, have {available}")
        self.needed, self.available = needed, available


class Kind(Enum):
    DEPOSIT = "deposit"
    WITHDRAWAL = "withdrawal"


@dataclass(frozen=True)
class Transaction:
    day: date
    kind: Kind
    amount: Decimal


@dataclass
class Account:
    owner: str
    history: list[Transaction] = field(default_factory=list)

    @property
    def balance(self):
        signs = {Kind.DEPOSIT: 1, Kind.WITHDRAWAL: -1}
        return sum((signs[t.kind] * t.amount for t in self.history), Decimal(0))

    def deposit(self, day, amount):
        if amount <= 0:
            raise ValueError("deposit must be positive")
        self.history.append(Transaction(day, Kind.DEPOSIT, Decimal(amount)))

    def can_withdraw(self, amount):
        return Decimal(amount) <= self.balance

    def withdraw(self, day, amount):
        if not self.can_withdraw(amount):
            raise InsufficientFunds(amount, self.balance)
        self.history.append(Transaction(day, Kind.WITHDRAWAL, Decimal(amount)))

    def monthly(self):
        totals = defaultdict(Decimal)
        for t in self.history:
            totals[f"{t.day:%Y-%m}"] += t.amount if t.kind is Kind.DEPOSIT else -t.amount
        return dict(totals)


def fit_and_eval(data):
    account = Account("Ada")
    start = date(2026, 1, 15)
    for i, amount in enumerate(data):
        account.deposit(start + timedelta(weeks=3 * i), amount * 100)
    account.withdraw(date(2026, 3, 1), 250)
    error = InsufficientFunds(10, 5)
    return {
        "balance": str(account.balance),
        "monthly": {k: str(v) for k, v in account.monthly().items()},
        "possible": [account.can_withdraw(x) for x in (1250, 1251)],
        "error": [str(error), error.needed, isinstance(error, Exception)],
        "count": len(account.history),
    }


# data and metrics
DATA = [1, 2, 3, 4, 5]
METRICS = {'balance': '1250',
 'monthly': {'2026-01': '100', '2026-02': '500', '2026-03': '150', '2026-04': '500'},
 'possible': [True, False],
 'error': ['need 10, have 5', 10, True],
 'count': 6}
