import type { WholeAnswer } from '../../dialects/shared/codec.ts'
import type { RelayStream, StreamTail } from '../../dialects/shared/relayStream.ts'
import type { OutBuffer } from '../../sse/outBuffer.ts'
import type { RequestContent } from '../../traces/content/requestContent.ts'
import type { Rejected } from '../../upstream/refusal.ts'
import { BodyRun } from './bodyRun.ts'
import { StreamRun } from './streamRun.ts'

/** A request that is answered in one piece, and whose content is captured. */
export class CapturedBodyRun extends BodyRun {
  private readonly content: RequestContent

  constructor(content: RequestContent, ...run: ConstructorParameters<typeof BodyRun>) {
    super(...run)
    this.content = content
  }

  onDone(): void {
    this.content.close()
  }

  protected override take(answer: WholeAnswer | Rejected): void {
    if ('rejected' in answer) {
      super.take(answer)
      return
    }
    // It is written once.
    const head = answer.head()
    this.content.note(head)
    const { usage, outputBytes } = answer
    super.take({ usage, outputBytes, written: () => answer.written(), head: () => head })
  }
}

/** A streamed request whose content is captured. */
export class CapturedStreamRun extends StreamRun {
  private readonly content: RequestContent

  constructor(content: RequestContent, ...run: ConstructorParameters<typeof StreamRun>) {
    super(...run)
    this.content = content
  }

  onDone(): void {
    this.content.close()
  }

  override onAttempt(): void {
    super.onAttempt()
    this.content.restart()
  }

  protected override pass(stream: RelayStream, out: OutBuffer): void {
    this.content.note(out.view())
    super.pass(stream, out)
  }

  protected override tailOf(stream: RelayStream, tail: StreamTail): string {
    const text = super.tailOf(stream, tail)
    this.content.note(text)
    return text
  }
}
