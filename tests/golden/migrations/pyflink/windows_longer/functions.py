def joined(pairs):
    return pairs[0][0], sum(count for _, count in pairs)
