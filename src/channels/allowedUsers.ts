/** Parses `allowed_users` of a channel's config: user ids, comma separated. Null: everyone in the chat. */
export function allowedUsersOf(config: Record<string, string>): readonly string[] | null {
  const ids = (config.allowed_users ?? "")
    .split(",")
    .map((id) => id.trim())
    .filter((id) => id !== "");
  return ids.length === 0 ? null : ids;
}
