import hashlib

import numpy as np
from sklearn.datasets import load_digits
from sklearn.neighbors import KNeighborsClassifier

from frameworks.workloads.datasets import standin

PUBLISHED = "2fb5ea3426414310e553c861daba66bf7fc6c5c637c024ca4a4a0da7e77a73db"


def test_every_machine_and_run_gets_the_same_bytes() -> None:
    images, labels = standin.generate(3000)
    digest = hashlib.sha256(images.tobytes() + labels.tobytes()).hexdigest()
    assert digest == PUBLISHED


def test_the_first_digits_do_not_depend_on_how_many_are_wanted() -> None:
    many, labels = standin.generate(1000)
    few, their_labels = standin.generate(300)
    assert few.tobytes() == many[:300].tobytes()
    assert their_labels.tobytes() == labels[:300].tobytes()


def test_digits_look_like_mnist() -> None:
    images, labels = standin.generate(4000)
    assert images.shape == (4000, 28, 28)
    assert images.dtype == labels.dtype == np.uint8
    # MNIST's training images have mean 0.1307 and standard deviation 0.3081.
    assert abs(images.mean() / 255 - 0.1307) < 0.02
    assert abs(images.std() / 255 - 0.3081) < 0.03
    assert images.max() == 255
    assert images[:, [0, -1]].max() == 0, "no digit touches the top or bottom edge"
    assert set(labels) == set(range(10))


def test_repeats_of_a_digit_differ() -> None:
    size = len(load_digits().target)
    images, labels = standin.generate(2 * size)
    assert (labels[:size] == labels[size:]).all()
    assert all(
        (first != second).any() for first, second in zip(images, images[size:], strict=False)
    )


def test_labels_belong_to_their_digits() -> None:
    images, labels = standin.generate(2500)
    pixels = images.reshape(len(images), -1).astype(np.float32)
    nearest = KNeighborsClassifier(1).fit(pixels[:2000], labels[:2000])
    assert nearest.score(pixels[2000:], labels[2000:]) > 0.9
