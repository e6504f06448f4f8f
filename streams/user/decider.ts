import type { Decider } from "../decider.ts";
import { Rejected } from "../decider.ts";
import { stream } from "../stream.ts";
import { unreachable } from "../unreachable.ts";
import { type SessionsEndedBecause, type UserEvent, userStream } from "./events.ts";

/**
 * `email` null: there is no such user. `isConfirmed`: the user has read mail at the address. `passwords`: number of passwords set so far.
 */
export type User = {
  email: string | null;
  name: string | null;
  disabled: boolean;
  isConfirmed: boolean;
  passwords: number;
};

export type UserCommand =
  /** `unconfirmed`: the address is not confirmed yet. */
  | { type: "RegisterUser"; email: string; name: string | null; unconfirmed?: boolean }
  | { type: "RenameUser"; name: string | null }
  | { type: "ChangeUserEmail"; email: string }
  | { type: "RecordPassword"; because: "registered" | "reset" | "changed" }
  /** `passwords`: number of passwords set when the given one was checked, if one was. */
  | { type: "RecordSignIn"; sessionId: string; passwords?: number }
  | { type: "RecordSessionsEnded"; because: SessionsEndedBecause }
  | { type: "DisableUser" }
  | { type: "EnableUser" };

const initial: User = { email: null, name: null, disabled: false, isConfirmed: false, passwords: 0 };

function decide(command: UserCommand, user: User): UserEvent[] {
  if (command.type === "RegisterUser") {
    const { email, name, unconfirmed = false } = command;
    if (user.email !== null) return [];
    return [{ type: "UserRegistered", data: { email, name, ...(unconfirmed && { unconfirmed }) } }];
  }
  if (user.email === null) throw new Rejected("not_found", "no such user");
  return decideOnExisting(command, user);
}

function decideOnExisting(command: Exclude<UserCommand, { type: "RegisterUser" }>, user: User): UserEvent[] {
  switch (command.type) {
    case "RenameUser":
      return command.name === user.name ? [] : [{ type: "UserRenamed", data: { name: command.name } }];
    case "ChangeUserEmail":
      if (command.email === user.email && user.isConfirmed) return [];
      return [{ type: "UserEmailChanged", data: { email: command.email } }];
    case "RecordPassword":
      return [{ type: "PasswordSet", data: { because: command.because } }];
    case "RecordSignIn":
      // Checked here again: a user disabled a moment ago starts no session.
      if (user.disabled) throw new Rejected("unauthorized", "this user is disabled");
      // A session is also refused if the user's password was replaced after the check, because the replacement may have ended all sessions
      // before this one starts.
      if ((command.passwords ?? user.passwords) !== user.passwords) {
        throw new Rejected("unauthorized", "the password was changed a moment ago");
      }
      return [{ type: "SignedIn", data: { sessionId: command.sessionId } }];
    case "RecordSessionsEnded":
      return [{ type: "SessionsEnded", data: { because: command.because } }];
    case "DisableUser":
      return user.disabled ? [] : [{ type: "UserDisabled", data: {} }];
    case "EnableUser":
      return user.disabled ? [{ type: "UserEnabled", data: {} }] : [];
    default:
      return unreachable(command);
  }
}

function evolve(user: User, event: UserEvent): User {
  switch (event.type) {
    case "UserRegistered":
      return {
        ...user,
        email: event.data.email,
        name: event.data.name,
        isConfirmed: event.data.unconfirmed !== true,
      };
    case "UserRenamed":
      return { ...user, name: event.data.name };
    case "UserEmailChanged":
      return { ...user, email: event.data.email, isConfirmed: true };
    case "UserDisabled":
      return { ...user, disabled: true };
    case "UserEnabled":
      return { ...user, disabled: false };
    case "PasswordSet":
      return { ...user, passwords: user.passwords + 1 };
    case "SignedIn":
    case "SessionsEnded":
      return user;
    default:
      return unreachable(event);
  }
}

export const userDecider: Decider<User, UserCommand, UserEvent> = { category: "user", initial, evolve, decide };

export const users = stream({ decider: userDecider, name: userStream });
