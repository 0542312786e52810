"""A report of sales, as an analyst writes it: months, shares, growth, top products."""
import numpy as np
import pandas as pd


def make_sales(rng, n=300):
    return pd.DataFrame(
        {
            "date": pd.to_datetime("2025-01-01") + pd.to_timedelta(rng.integers(0, 365, n), unit="D"),
            "product": rng.choice(["pen", "book", "lamp"], n, p=[0.5, 0.3, 0.2]),
            "units": rng.integers(1, 10, n),
            "price": rng.choice([1.5, 12.0, 35.0], n),
        }
    )


def fit_and_eval(data):
    sales = make_sales(np.random.default_rng(11))
    sales["revenue"] = sales["units"] * sales["price"]
    monthly = sales.set_index("date").resample("ME")["revenue"].sum()
    by_product = (
        sales.groupby("product", as_index=False)
        .agg(revenue=("revenue", "sum"), orders=("units", "size"))
        .sort_values("revenue", ascending=False)
        .reset_index(drop=True)
    )
    by_product["share"] = (by_product["revenue"] / by_product["revenue"].sum()).round(4)
    pivot = sales.pivot_table(index=sales["date"].dt.quarter, columns="product", values="units", aggfunc="sum", fill_value=0)
    print(by_product.head())
    return {
        "months": len(monthly),
        "total": bool(np.isclose(monthly.sum(), sales["revenue"].sum())),
        "best": by_product.loc[0, "product"],
        "shares": round(float(by_product["share"].sum()), 2),
        "orders": int(by_product["orders"].sum()),
        "quarters": pivot.shape,
        "units": int(pivot.to_numpy().sum()),
        "growth": bool(monthly.pct_change().dropna().abs().max() > 0),
    }


# data and metrics
DATA = [1, 2, 3, 4, 5]
METRICS = {'months': 12,
 'total': True,
 'best': 'pen',
 'shares': 1.0,
 'orders': 300,
 'quarters': [4, 3],
 'units': 1490,
 'growth': True}
