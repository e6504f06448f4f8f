import { hoursOf } from "#src/platform/accounts/links.ts";
import type { AccountLetter } from "./accountLetters.ts";

/** Pages that links in account mail lead to. The links begin with PUBLIC_URL, whatever host name the request used. */
export type LinkPage = "confirm" | "reset" | "new-email" | "invitation";

export const linkUrl = ({ publicUrl }: { publicUrl: string }, page: LinkPage, token: string): string =>
  `${publicUrl}/${page}/${token}`;

const notYou = "If this was not you, you can ignore this mail: nothing happens.";
const once = "The link works once. If you ask for a newer mail, only its link works.";

/** Texts of mail about accounts. They contain no name that a user typed, because a stranger may have typed it. */
export const accountLetterTexts = {
  confirm: (to: string, url: string): AccountLetter => ({
    to,
    subject: "Confirm your address",
    lead: [
      "Someone, probably you, asked for a Countersign account with this address. Confirm the address and choose a password.",
    ],
    button: { label: "Confirm the address", url },
    facts: [`The link works for ${hoursOf.confirm} hours. ${once}`, notYou],
  }),
  haveAccount: (to: string, publicUrl: string): AccountLetter => ({
    to,
    subject: "You already have an account",
    lead: [
      "Someone, probably you, asked for a new Countersign account with this address. It already has one: sign in, or set a new password if you forgot yours.",
    ],
    button: { label: "Sign in", url: `${publicUrl}/sign-in` },
    facts: [`Set a new password: ${publicUrl}/forgot`, notYou],
  }),
  reset: (to: string, url: string): AccountLetter => ({
    to,
    subject: "Set a new password",
    lead: ["Someone, probably you, asked for a new password for your Countersign account."],
    button: { label: "Set a new password", url },
    facts: [`The link works for ${hoursOf.reset * 60} minutes. ${once}`, notYou],
  }),
  newEmail: (to: string, url: string): AccountLetter => ({
    to,
    subject: "Confirm your new address",
    lead: ["You asked to use this address for your Countersign account from now on."],
    button: { label: "Use this address", url },
    facts: [`The link works for ${hoursOf.email} hours. ${once}`, notYou],
  }),
  emailAsked: (to: string, publicUrl: string): AccountLetter => ({
    to,
    subject: "Your address is about to change",
    lead: [
      "Someone who knows your password asked to use another address for your Countersign account. It changes when the link in a mail to that address is opened.",
      "If this was not you, set a new password now: that also ends every session.",
    ],
    button: { label: "Set a new password", url: `${publicUrl}/forgot` },
    facts: ["If this was you, you do not need to do anything."],
  }),
  emailChanged: (to: string, publicUrl: string): AccountLetter => ({
    to,
    subject: "Your address has changed",
    lead: [
      "Your Countersign account has another address now, and this one no longer signs in.",
      "If this was not you, contact an owner of your workspace and the people who run this service.",
    ],
    facts: [`The service: ${publicUrl}`],
  }),
  passwordSet: (to: string, publicUrl: string): AccountLetter => ({
    to,
    subject: "Your password has changed",
    lead: [
      "The password of your Countersign account was changed, and every other session has ended.",
      "If this was not you, set a new password now.",
    ],
    button: { label: "Set a new password", url: `${publicUrl}/forgot` },
    facts: ["If this was you, you do not need to do anything."],
  }),
};
