import type { Event } from "./event.ts";

/**
 * Fields of an event's data that an audit entry shows (`open`), and those that it replaces with a salted digest (`salted`; `secret` if no
 * evidence discloses the value: secrets, sealed or hashed, and what a secret could be found from). Only what names nobody is open:
 * random ids, codes, hashes, counts, times. Numbers, booleans and null are always open and are not declared. An object is declared as a
 * whole, or field by field. A field that is declared nowhere is salted.
 */
export type AuditFields<E extends Event> = FieldsOf<E["data"]>;

export type AuditField = "open" | "salted" | "secret" | { readonly [name: string]: AuditField };

/** Names of the fields that can hold text, an array or an object, of every member of a union. */
type DeclaredNames<T> = T extends object
  ? { [K in keyof T]-?: Extract<T[K], string | object> extends never ? never : K }[keyof T]
  : never;

type ValueOf<T, K> = T extends unknown ? (K extends keyof T ? T[K] : never) : never;

type FieldsOf<T> = { readonly [K in DeclaredNames<T> & string]: FieldOf<Extract<ValueOf<T, K>, string | object>> };

type FieldOf<V> = "open" | "salted" | "secret" | (V extends string | readonly unknown[] ? never : FieldsOf<V>);
