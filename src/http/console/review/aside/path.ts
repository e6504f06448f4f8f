/** Path of the list of mail put aside, or of a form on it, that keeps the place in the list. */
export function asidePath(end: string, query: URLSearchParams): string {
  const kept = new URLSearchParams([...query].filter(([name]) => name === "cursor" || name === "trail"));
  return `/review/aside${end}${kept.size > 0 ? `?${kept}` : ""}`;
}
