/** One piece of a stream of server-sent events. */
export type StreamPiece =
  | { readonly kind: 'data'; readonly json: unknown }
  | { readonly kind: 'receipt'; readonly text: string }
  | { readonly kind: 'done' }

const RECEIPT = ': receipt '
const DATA = 'data:'

/** Reads server-sent events as their text arrives in pieces. */
export class EventReader {
  private rest = ''

  /** @param text what has arrived @returns the pieces whose lines are whole */
  push(text: string): StreamPiece[] {
    const lines = (this.rest + text).split(/\r\n|\n|\r(?!$)/)
    this.rest = lines.pop() ?? ''
    return lines.flatMap(pieceOf)
  }
}

function pieceOf(line: string): StreamPiece[] {
  if (line.startsWith(RECEIPT)) return [{ kind: 'receipt', text: line.slice(RECEIPT.length) }]
  if (!line.startsWith(DATA)) return []
  const data = line.slice(DATA.length).trim()
  if (data === '[DONE]') return [{ kind: 'done' }]
  try {
    return [{ kind: 'data', json: JSON.parse(data) }]
  } catch {
    return []
  }
}
