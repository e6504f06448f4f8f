/**
 * The default of an exhaustive switch: the compiler refuses it as soon as a case is missing. At run time only something that this
 * version does not know gets here, such as an event that a newer version stored: nothing is guessed from it. Throws Error.
 */
export function unreachable(value: never): never {
  const { type } = value as { type?: unknown };
  throw new Error(`no rule for ${JSON.stringify(type ?? value)}`);
}
