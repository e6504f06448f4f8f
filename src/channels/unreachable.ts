import type { Channel } from "./channel.ts";

/** A kind of channel that can be set up and that nothing here can reach: it says so at once, since trying again would change nothing. */
export const unreachable = (kind: string): Channel => ({
  async ask() {
    const error = `no approver was notified: this service cannot reach ${kind} channels yet; approve through the API or set another approval_channel`;
    return { reached: false, error, again: false };
  },
});
