/** In place of a figure that is not known. */
export const UNKNOWN = '–'
