/** Approximate sizes in bytes in 64-bit V8: the header of an object or string, and a slot for a property or item. */
const perObject = 32;
const perSlot = 8;

/**
 * Estimates the bytes of memory of a JSON value without serialising it. Counts every property name, although names shared by many objects
 * exist once; they are short. Text beyond Latin-1 takes twice the estimate.
 */
export function estimateBytes(value: unknown): number {
  if (typeof value === "string") return perObject + value.length;
  if (typeof value !== "object" || value === null) return perSlot;
  let bytes = perObject;
  if (Array.isArray(value)) for (const item of value) bytes += perSlot + estimateBytes(item);
  else for (const key in value) bytes += perSlot + key.length + estimateBytes((value as Record<string, unknown>)[key]);
  return bytes;
}
