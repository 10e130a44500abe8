import type { Behaviour } from './grammar.ts'
import type { Pieces } from './pieces.ts'

const PIECE_BYTES = 1_000
const CONTENT_TYPES: Readonly<Record<string, string>> = {
  mp3: 'audio/mpeg',
  opus: 'audio/ogg',
  aac: 'audio/aac',
  flac: 'audio/flac',
  wav: 'audio/wav',
  pcm: 'audio/pcm',
}

/** Speech: `chunks` pieces of `bytes` bytes, each of which holds its own number, as bytes or as events. */
export function speechPieces(behaviour: Behaviour, fields: Readonly<Record<string, unknown>>): Pieces {
  const pieceBytes = behaviour.integers.bytes ?? PIECE_BYTES
  const isEvents = fields['stream_format'] === 'sse'
  const format = String(fields['response_format'] ?? 'mp3')
  const soundOf = (index: number): Buffer => Buffer.alloc(pieceBytes, index % 256)
  const usage = { input_tokens: 10, output_tokens: 20, total_tokens: 30 }
  // The whole text is billed with the first piece.
  const characters = [...String(fields['input']), ...String(fields['instructions'] ?? '')].length
  return {
    contentType: isEvents ? 'text/event-stream' : (CONTENT_TYPES[format] ?? 'application/octet-stream'),
    count: behaviour.chunks,
    piece: (index) =>
      isEvents
        ? Buffer.from(eventOf({ type: 'speech.audio.delta', audio: soundOf(index).toString('base64') }))
        : soundOf(index),
    end: isEvents ? eventOf({ type: 'speech.audio.done', usage }) : '',
    billed: () => characters,
  }
}

/** An object as an event. */
export function eventOf(data: object): string {
  return `data: ${JSON.stringify(data)}\n\n`
}
