"""scikit-learn's own checks of an estimator."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from adtc.estimator import TreeSetClassifier

ESTIMATORS = [
    TreeSetClassifier(),
    TreeSetClassifier(max_depth=2, nbins=4, optimize="max acc", tie="random", random_state=0),
    TreeSetClassifier(max_depth=2, nbins=4, vote="all"),
]


@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_accepts_the_estimator(estimator, check):
    check(estimator)
