def read_comparison(x):
    raise NotImplementedError
