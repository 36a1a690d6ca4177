"""The rules, one file each; ``registry`` lists them, ``catalogue`` holds what there is to say about them."""
