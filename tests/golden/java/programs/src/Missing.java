/** A class that is not put into the jar. */
class Missing {
  static void touch() {}
}
