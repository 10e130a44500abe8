const CHARGE = /("cost":\s*\{\s*"units":\s*")(\d+)/

/** The text of a receipt with the last digit of its charge changed, and what was changed. */
export function alteredReceipt(text: string): { readonly text: string; readonly note: string } {
  const match = CHARGE.exec(text)
  const digits = match?.[2] ?? ''
  const last = Number(digits.at(-1) ?? 0)
  const changed = digits.slice(0, -1) + String((last + 1) % 10)
  return { text: text.replace(CHARGE, `$1${changed}`), note: `${digits} units became ${changed}` }
}
