"""Joins of every kind, concatenation, and checks for duplicates."""
import pandas as pd


def fit_and_eval(data):
    users = pd.DataFrame({"id": [1, 2, 3], "name": ["Ada", "Bob", "Cy"]})
    orders = pd.DataFrame({"user": [1, 1, 3, 4], "amount": [5.0, 7.5, 2.0, 9.0]})
    inner = users.merge(orders, left_on="id", right_on="user")
    left = users.merge(orders, left_on="id", right_on="user", how="left")
    outer = pd.merge(users, orders, left_on="id", right_on="user", how="outer", indicator=True)
    stacked = pd.concat([users, pd.DataFrame({"id": [9], "name": ["Zed"]})], ignore_index=True)
    joined = users.set_index("id").join(orders.groupby("user")["amount"].sum())
    duplicated = pd.DataFrame({"k": [1, 1, 2], "v": [1, 1, 3]})
    return {
        "inner": inner[["name", "amount"]].values.tolist(),
        "left": int(left["amount"].isna().sum()),
        "outer": outer["_merge"].astype(str).tolist(),
        "stacked": stacked["name"].tolist(),
        "joined": joined["amount"].fillna(0).tolist(),
        "unique": duplicated.drop_duplicates().shape,
        "duplicated": duplicated.duplicated().tolist(),
        "asof": pd.merge_asof(pd.DataFrame({"t": [1, 5, 10]}), pd.DataFrame({"t": [0, 4, 9], "v": [1, 2, 3]}), on="t")["v"].tolist(),
        "cross": len(users.merge(users, how="cross")),
        "isin": users[users["id"].isin(orders["user"])]["name"].tolist(),
        "mapped": orders["user"].map(users.set_index("id")["name"]).fillna("?").tolist(),
    }


# data and metrics
DATA = [1, 2, 3, 4, 5]
METRICS = {'inner': [['Ada', 5.0], ['Ada', 7.5], ['Cy', 2.0]],
 'left': 1,
 'outer': ['both', 'both', 'left_only', 'both', 'right_only'],
 'stacked': ['Ada', 'Bob', 'Cy', 'Zed'],
 'joined': [12.5, 0.0, 2.0],
 'unique': [2, 2],
 'duplicated': [False, True, False],
 'asof': [1, 2, 3],
 'cross': 9,
 'isin': ['Ada', 'Cy'],
 'mapped': ['Ada', 'Ada', 'Cy', '?']}
