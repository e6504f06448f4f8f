import type { Decider } from "../decider.ts";
import { invalidRequest } from "../decider.ts";
import { stream } from "../stream.ts";
import { unreachable } from "../unreachable.ts";
import { type UserEmailEvent, userEmailStream } from "./events.ts";

/** `userId` null: the address is free. */
export type UserEmail = { userId: string | null };

export type UserEmailCommand =
  /** Only for a user who has proven to read mail at the address. */
  { type: "ClaimUserEmail"; userId: string; email: string } | { type: "ReleaseUserEmail"; userId: string };

function decide(command: UserEmailCommand, address: UserEmail): UserEmailEvent[] {
  const { userId } = command;
  switch (command.type) {
    case "ClaimUserEmail":
      if (address.userId === userId) return [];
      if (address.userId !== null) {
        throw invalidRequest("email", "this address already has an account: sign in with it", { conflict: true });
      }
      return [{ type: "UserEmailClaimed", data: { userId, email: command.email } }];
    case "ReleaseUserEmail":
      return address.userId === userId ? [{ type: "UserEmailReleased", data: { userId } }] : [];
    default:
      return unreachable(command);
  }
}

function evolve(address: UserEmail, event: UserEmailEvent): UserEmail {
  switch (event.type) {
    case "UserEmailClaimed":
      return { userId: event.data.userId };
    case "UserEmailReleased":
      return { ...address, userId: null };
    default:
      return unreachable(event);
  }
}

export const userEmailDecider: Decider<UserEmail, UserEmailCommand, UserEmailEvent> = {
  category: "userEmail",
  initial: { userId: null },
  evolve,
  decide,
};

export const userEmails = stream({ decider: userEmailDecider, name: userEmailStream });
