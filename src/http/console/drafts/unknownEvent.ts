/** Default case of an exhaustive switch over events. Throws for an event that only a newer version of the service knows. */
export function unknownEvent(event: never): never {
  throw new Error(`no words for ${(event as { type: string }).type}`);
}
