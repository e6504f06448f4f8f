/** Of V8 on 64 bits, roughly: an object's or a string's own words, and a slot for a property or an item. */
const perObject = 32;
const perSlot = 8;

/**
 * About how many bytes of memory a JSON value takes, without writing it out. A name counts wherever it is: those of a record's keys
 * are there once each, and those of a shape that many share are short. A text beyond Latin-1 takes twice what is said here.
 */
export function bytesOf(value: unknown): number {
  if (typeof value === "string") return perObject + value.length;
  if (typeof value !== "object" || value === null) return perSlot;
  let bytes = perObject;
  if (Array.isArray(value)) for (const item of value) bytes += perSlot + bytesOf(item);
  else for (const key in value) bytes += perSlot + key.length + bytesOf((value as Record<string, unknown>)[key]);
  return bytes;
}
