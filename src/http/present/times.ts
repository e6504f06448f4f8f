/** A time in the contract's format. Read models return Dates, the log strings. */
export const timestamp = (time: Date | string): string => new Date(time).toISOString();

export const timestampOrNull = (time: Date | string | null): string | null => (time === null ? null : timestamp(time));
