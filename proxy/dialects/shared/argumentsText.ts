import { JsonWhole } from '../../json/jsonWhole.ts'

/** The beginning of an object, and one that more text has to show. */
const OBJECT_START = /^\s*\{\s*["}]/
const MAY_START = /^\s*(?:\{\s*)?$/

/** Follows the arguments of a call, piece by piece, and says whether they are an object and where it ends. */
export class ArgumentsText {
  /** Whether they begin as an object; undefined while nobody can know. */
  isObject: boolean | undefined = undefined
  private readonly json = new JsonWhole()
  private start = ''

  /** They are an object that has ended. */
  get isWhole(): boolean {
    return this.isObject === true && this.json.whole
  }

  /** @returns what of the piece belongs to the arguments: nothing that follows their object */
  push(piece: string): string {
    if (this.isObject === false) return piece
    const length = this.json.push(piece)
    if (this.isObject === true) return piece.slice(0, length)
    const start = this.start + piece
    if (MAY_START.test(start)) this.start = start.trim()
    else this.isObject = OBJECT_START.test(start)
    return piece
  }
}
