/** Ports that Telegram calls webhooks at. */
const webhookPorts = ["", "443", "80", "88", "8443"];

/** How bots get their updates: Telegram calls the webhook below this address, or null: they are fetched. */
export function webhookBase(mode: "auto" | "webhook" | "polling", publicUrl: string): string | null {
  if (mode === "polling") return null;
  return mode === "webhook" || canBeCalled(publicUrl) ? `${publicUrl}/hooks/telegram/` : null;
}

/** Telegram calls https alone, at some ports. */
export function canBeCalled(publicUrl: string): boolean {
  const { protocol, port } = new URL(publicUrl);
  return protocol === "https:" && webhookPorts.includes(port);
}
