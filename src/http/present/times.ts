/** A moment in the contract's form. Read models give Dates, the log strings. */
export const timestamp = (time: Date | string): string => new Date(time).toISOString();

export const timestampOrNull = (time: Date | string | null): string | null => (time === null ? null : timestamp(time));
