import assert from 'node:assert/strict'
import type { FinishReason, MessageSink } from '../../../proxy/dialects/shared/message.ts'
import { itemOf } from '../present.ts'

/** What a message comes to, however it was cut into pieces. */
export class Collected implements MessageSink {
  said = ''
  thought = ''
  calls: { id: string; name: string; arguments: string }[] = []
  finish: FinishReason | null = null

  /** Everything, with the arguments that a writer fills in where a reader passes on none. */
  get whole(): object {
    const calls = this.calls.map((call) => ({ ...call, arguments: call.arguments || '{}' }))
    return { said: this.said, thought: this.thought, calls, finish: this.finish }
  }

  text(piece: string): void {
    this.said += piece
  }

  reasoning(piece: string): void {
    this.thought += piece
  }

  refusal(piece: string): void {
    this.said += piece
  }

  toolCall(index: number, id: string, name: string): void {
    assert.equal(index, this.calls.length)
    this.calls.push({ id, name, arguments: '' })
  }

  toolArguments(index: number, piece: string): void {
    itemOf(this.calls, index).arguments += piece
  }

  ends(reason: FinishReason): void {
    assert.equal(this.finish, null)
    this.finish = reason
  }
}
