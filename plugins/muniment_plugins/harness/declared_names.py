"""The stable names of the harness, and the names that earlier editions used.

    {"name": "muniment:meets-claim/2", "settings": {}, "compares": true}

Rules:

- Code that gives different results is another version, and gets another name; the old
  one stays, for the runs that were judged by it.
- The digests are of the source texts that earlier editions recorded. They promise
  nothing about today's text, which may change as long as it does the same.
"""

from __future__ import annotations

from muniment.programs.stable_names import StableName

__all__ = ["NAMES"]

_HERE = "muniment_plugins.harness"
"""Where the code is today; its earlier places are written out, and stay."""

NAMES = (
    StableName(
        "muniment:experiment/1",
        f"{_HERE}.experiment.program:ExperimentProgram",
        {"muniment_plugins.harness.programs:ExperimentProgram": None},
    ),
    StableName(
        "muniment:metamorphic/1",
        f"{_HERE}.statistics.verifiers:judge_properties",
        {
            "muniment_plugins.harness.verifiers:judge_properties": "sha256:"
            "ed4abd85fe7823e1cb677e33bc0931ad9b3daf0d10d56bd83454d40e604f17ea"
        },
    ),
    StableName(
        "muniment:meets-claim/1",
        f"{_HERE}.statistics.first_acceptance:judge_claim",
        {
            "muniment_plugins.harness.acceptance:judge_claim": "sha256:"
            "6179df1c83032af86a0dea074aed340eb49c14ee7a94195e6a0d2442d3051958"
        },
    ),
    StableName(
        "muniment:meets-claim/2",
        f"{_HERE}.statistics.judgement:judge_acceptance",
        {
            "muniment_plugins.harness.judgement:judge_acceptance": "sha256:"
            "64f52865c85cf0880c492c748be89d95fe69d213ef28974cdfa2f0a90c081841"
        },
    ),
)
