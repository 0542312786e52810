"""Tests of hypotheses: means, ranks, tables, normality and correlation."""
import numpy as np
from scipy import stats


def cohens_d(a, b):
    pooled = np.sqrt((np.var(a, ddof=1) + np.var(b, ddof=1)) / 2)
    return (np.mean(a) - np.mean(b)) / pooled


def fit_and_eval(data):
    rng = np.random.default_rng(0)
    a = rng.normal(0.0, 1, 50)
    b = rng.normal(0.8, 1, 50)
    t = stats.ttest_ind(a, b)
    u = stats.mannwhitneyu(a, b)
    chi2, p, dof, _ = stats.chi2_contingency([[10, 20], [20, 10]])
    r, rp = stats.pearsonr([1, 2, 3, 4], [2, 4, 6, 8.5])
    w = stats.shapiro(a)
    return {
        "t": [round(float(t.statistic), 6), round(float(t.pvalue), 8)],
        "u": float(u.statistic),
        "significant": bool(t.pvalue < 0.05),
        "d": round(float(cohens_d(a, b)), 6),
        "chi2": [round(float(chi2), 6), round(float(p), 6), int(dof)],
        "r": [round(float(r), 6), round(float(rp), 6)],
        "spearman": round(float(stats.spearmanr([1, 2, 3], [1, 3, 2]).statistic), 6),
        "normal": bool(w.pvalue > 0.05),
        "anova": round(float(stats.f_oneway([1, 2, 3], [2, 3, 4], [5, 6, 7]).statistic), 6),
        "wilcoxon": float(stats.wilcoxon([1, 2, 3, 4, 5], [2, 1, 5, 6, 8]).statistic),
        "ks": round(float(stats.kstest(a, "norm").statistic), 6),
        "one": round(float(stats.ttest_1samp(data, 3).statistic), 6),
        "paired": round(float(stats.ttest_rel([1, 2, 3, 4], [1, 3, 3, 6]).pvalue), 6),
        "binomial": round(float(stats.binomtest(8, 10).pvalue), 6),
    }


# data and metrics
DATA = [1, 2, 3, 4, 5]
METRICS = {'t': [-3.627306, 0.00045691],
 'u': 770.0,
 'significant': True,
 'd': -0.725461,
 'chi2': [5.4, 0.020137, 1],
 'r': [0.998381, 0.001619],
 'spearman': 0.5,
 'normal': True,
 'anova': 13.0,
 'wilcoxon': 1.5,
 'ks': 0.10859,
 'one': 0.0,
 'paired': 0.21517,
 'binomial': 0.109375}
