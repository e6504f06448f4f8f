/**
 * Default of an exhaustive switch: the compiler rejects it as soon as a case is missing. At run time it is reached only by a type that this
 * version does not know, such as an event of a newer version, and nothing is guessed from that. Throws Error.
 */
export function unreachable(value: never): never {
  const { type } = value as { type?: unknown };
  throw new Error(`no rule for ${JSON.stringify(type ?? value)}`);
}
