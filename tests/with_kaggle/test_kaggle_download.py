"""Downloads: complete, cut, killed, partial, repaired; from Kaggle and from what is there already."""

from archives import tree_of


def test_whole_archive_lands_byte_identical_and_is_on_record(kit, kaggle, files, tmp_path):
    data = tmp_path / "data"
    done = kit("download", "--data", data, "--competition", "small", check=0)
    assert tree_of(data) == files
    assert "free on the disk" in done.stdout
    before = len(kaggle.log)
    again = kit("download", "--data", data, "--competition", "small", check=0)
    assert "complete already" in again.stdout
    assert len(kaggle.log) == before
