# The guide's complete example, as it is printed but for the import lines.
# fmt: off
# ruff: noqa: ARG005, D100, ERA001, I001
from muniment_plugins.harness import Experiment, Pipeline, ArtifactPlugin
from muniment_plugins.harness import (
    Claim, Spec,
    specify_claim, generate_spec, bounded_synthesis,
    execute_capsule, run_metamorphic_tests,
    metamorphic,
)
from muniment_plugins.harness import PromptProvenancePlugin, EvidenceBundlePlugin

# 1. Define claim and spec
claim = Claim(
    id="sum-invariant",
    text="Sum should be invariant under row permutation",
    acceptance={}
)

spec = Spec(
    allowed_imports=["math"],
    properties=[
        {"name": "perm", "transform": "permute_rows", "metric": "total"}
    ],
    resources={"time_s": 5, "mem_mb": 256}
)

# 2. Define code (or use LLM)
code = """
import math

def fit_and_eval(data):
    total = sum(data)
    mean = total / len(data) if data else 0
    return {"total": total, "mean": mean}
"""

# 3. Build pipeline
pipeline = Pipeline([
    specify_claim(claim=claim),
    generate_spec(spec=spec),
    bounded_synthesis(code=code),
    execute_capsule(),
    run_metamorphic_tests(),
])

# 4. Create experiment with provenance tracking
experiment = (
    Experiment.builder()
    .datasource(lambda ctx: [1, 2, 3, 4, 5])
    .pipeline(pipeline)
    .hypothesis("metamorphic", verifier=metamorphic)
    .plugin(ArtifactPlugin(root_dir="./artifacts"))
    .plugin(PromptProvenancePlugin())
    .plugin(EvidenceBundlePlugin())
    .build()
)

# 5. Run
result = experiment.run(replicates=3)

# 6. Check results
print(result.metrics.baseline.metrics)
# {'total': [15, 15, 15], 'mean': [3.0, 3.0, 3.0], 'perm_pass': [True, True, True]}

for h in result.metrics.hypotheses:
    print(f"{h.name}: {h.results}")
# metamorphic: {'baseline': {'metamorphic_ok': True, 'perm_pass': True}}
