import type { Decider } from "../decider.ts";
import { Rejected } from "../decider.ts";
import { stream } from "../stream.ts";
import { unreachable } from "../unreachable.ts";
import { type SessionsEndedBecause, type UserEvent, userStream } from "./events.ts";

/** `email` null: there is no such user. */
export type User = { email: string | null; name: string | null; disabled: boolean };

export type UserCommand =
  | { type: "RegisterUser"; email: string; name: string | null }
  | { type: "RenameUser"; name: string | null }
  | { type: "ChangeUserEmail"; email: string }
  | { type: "RecordPassword"; because: "registered" | "reset" | "changed" }
  | { type: "RecordSignIn"; sessionId: string }
  | { type: "RecordSessionsEnded"; because: SessionsEndedBecause }
  | { type: "DisableUser" }
  | { type: "EnableUser" };

const initial: User = { email: null, name: null, disabled: false };

function decide(command: UserCommand, user: User): UserEvent[] {
  if (command.type === "RegisterUser") {
    const { email, name } = command;
    return user.email === null ? [{ type: "UserRegistered", data: { email, name } }] : [];
  }
  if (user.email === null) throw new Rejected("not_found", "no such user");
  return decideOnExisting(command, user);
}

function decideOnExisting(command: Exclude<UserCommand, { type: "RegisterUser" }>, user: User): UserEvent[] {
  switch (command.type) {
    case "RenameUser":
      return command.name === user.name ? [] : [{ type: "UserRenamed", data: { name: command.name } }];
    case "ChangeUserEmail":
      return command.email === user.email ? [] : [{ type: "UserEmailChanged", data: { email: command.email } }];
    case "RecordPassword":
      return [{ type: "PasswordSet", data: { because: command.because } }];
    case "RecordSignIn":
      // Judged here once more: whoever was disabled a moment ago starts no session.
      if (user.disabled) throw new Rejected("unauthorized", "this user is disabled");
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
      return { ...user, email: event.data.email, name: event.data.name };
    case "UserRenamed":
      return { ...user, name: event.data.name };
    case "UserEmailChanged":
      return { ...user, email: event.data.email };
    case "UserDisabled":
      return { ...user, disabled: true };
    case "UserEnabled":
      return { ...user, disabled: false };
    case "PasswordSet":
    case "SignedIn":
    case "SessionsEnded":
      return user;
    default:
      return unreachable(event);
  }
}

export const userDecider: Decider<User, UserCommand, UserEvent> = { category: "user", initial, evolve, decide };

export const users = stream({ decider: userDecider, name: userStream });
