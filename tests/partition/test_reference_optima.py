"""The optima known of public profiles, from the files as published; the values pin the conversion of units too."""

import json

import numpy as np
import pytest

from evaluation.errors import InvalidSubmission
from evaluation.partition import bottleneck, check_stages
from kit.partition.dnn_partitioning import read_split
from kit.partition.instances import read
from kit.partition.solve import solve

GIB = 1024**3
BERT_OPERATORS, BERT, GNMT, RESNET = (f"dnn-partitioning/{name}_inference.json"
                                      for name in ("bert_l-3", "bert24", "gnmt", "resnet50"))
OPTIMA = [  # file, bandwidth in GiB/s, k, bottleneck in ms
    (BERT_OPERATORS, 2, 4, 27.1861), (BERT_OPERATORS, 2, 8, 27.1861),
    (BERT, 2, 2, 49.4301), (BERT, 2, 4, 27.8281), (BERT, 2, 8, 17.0151),
    (GNMT, 2, 2, 99.5357), (GNMT, 2, 4, 59.0465), (GNMT, 2, 8, 38.4102),
    (RESNET, 2, 2, 181.9), (RESNET, 2, 4, 181.9), (RESNET, 2, 8, 181.9),
    (RESNET, 16, 4, 72.1115), (RESNET, 16, 8, 57.8066),
    *((f"pipedream/{name}.graph.txt", 16, k, value) for name, values in
      {"vgg16": (120.133, 109.616), "gnmt": (10.450, 6.052), "densenet121": (56.409, 30.263)}.items()
      for k, value in zip((4, 8), values, strict=True))]
EXPERTS = {"bert24": (6, 22.0351), "gnmt": (6, 58.6472), "resnet50": (6, 329.2894)}  # stages, ms at 2 GiB/s


@pytest.mark.parametrize(("file", "bandwidth", "k", "optimum"), OPTIMA)
def test_reference_optimum(real_data, file, bandwidth, k, optimum):
    instance, _ = read(real_data / "partition" / file, bandwidth=bandwidth * GIB, keep_input=True)
    found = solve(instance, k, seconds=60)  # ends as soon as it is proved
    stages = check_stages(instance, found.stages, k)
    assert bottleneck(instance, stages) * 1e3 == pytest.approx(optimum, rel=5e-5, abs=5e-4)
    assert found.proved and found.lower_bound <= bottleneck(instance, stages)


@pytest.mark.parametrize("name", EXPERTS)
def test_splits_by_hand_are_read_and_scored(real_data, name):
    folder = real_data / "partition" / "dnn-partitioning"
    graph = json.loads((folder / f"{name}_inference.json").read_text(encoding="utf-8"))
    split = json.loads((folder / f"{name}_inference_expert.json").read_text(encoding="utf-8"))
    instance, _ = read(folder / f"{name}_inference.json", bandwidth=2 * GIB)
    stages = read_split(instance, graph, split, name)
    count, value = EXPERTS[name]
    assert len(np.unique(stages)) == count
    assert bottleneck(instance, stages) * 1e3 == pytest.approx(value, rel=1e-5)


def test_a_split_that_undercuts_the_optimum_through_a_cycle_is_refused_by_name(real_data):
    instance, _ = read(real_data / "partition" / BERT, bandwidth=2 * GIB)
    order = instance.topological_order
    stages = np.zeros(len(instance), np.int64)
    stages[order[len(order) // 4: -len(order) // 4]] = 1  # ends in one stage, the middle in the other
    with pytest.raises(InvalidSubmission, match=r"stage \d -> stage \d \(.* -> .*\), stage"):
        check_stages(instance, stages, 2)


def test_a_cyclic_split_can_be_faster_than_the_optimum():
    from tests.evaluation.test_partition import make

    # the ends are long and send little: together they would balance the long middle
    chain = make([[0, 1], [1, 2]], [5.0, 10.0, 5.0], output=[1, 1, 0])
    assert bottleneck(chain, np.array([0, 1, 0])) < min(bottleneck(chain, np.array(s))
                                                        for s in ([0, 0, 0], [0, 0, 1], [0, 1, 1]))
    with pytest.raises(InvalidSubmission, match="circle"):
        check_stages(chain, [0, 1, 0], 2)
