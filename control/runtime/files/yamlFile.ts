import { createHash } from 'node:crypto'
import { readFile, stat } from 'node:fs/promises'
import { basename } from 'node:path'
import { type Document, isAlias, isMap, isNode, isScalar, isSeq, LineCounter, parseDocument, visit } from 'yaml'
import type { SchemaCheck } from '../../../contract/schemas/schemaFaults.ts'

const FILE_BYTES_MAX = 4_194_304
const PROBLEMS_MAX = 20
/** How often the anchors of a file may be used: more than any file of that size needs, less than keeps a process busy. */
const ALIASES_MAX = 100_000

/** Names and indices from the root of a file to a value. */
export type Path = ReadonlyArray<string | number>

/** An invalid file; the message has one line per problem, each with the file, the line and the reason. */
export class FileError extends Error {
  override readonly name = 'FileError'
  readonly problems: readonly string[]

  constructor(problems: readonly string[]) {
    super(problems.join('\n'))
    this.problems = problems
  }
}

/** A YAML file of an operator. It collects all problems, so that an operator sees them together. */
export class YamlFile {
  /** As messages name it. */
  readonly name: string
  /** SHA-256 of the text in hex. */
  readonly digest: string
  private readonly whole: string
  /** Each with its line; a file of bounded size has a bounded number of them. */
  private readonly problems = new Map<string, number>()
  private readonly lineCounter = new LineCounter()
  private readonly document: Document

  /**
   * @param name as messages name the file
   * @param whole the name of the content as a whole in messages, such as "the catalog"
   * @throws FileError when the text is not YAML
   */
  constructor(name: string, text: string, whole: string) {
    this.name = name
    this.digest = createHash('sha256').update(text).digest('hex')
    this.whole = whole
    this.document = parseDocument(text, { lineCounter: this.lineCounter, prettyErrors: false })
    for (const error of this.document.errors) {
      this.add(this.lineCounter.linePos(error.pos[0]).line, error.message)
    }
    this.checkAliases()
    this.finish()
  }

  /**
   * The content as JSON has it, with the defaults of its schema. Scalars stay as YAML reads them: an amount of money is
   * a text, which the schema asks for, and never goes through a float.
   * @param prepare changes the content before it is checked
   * @throws FileError with every violation of the schema
   */
  content(check: SchemaCheck, prepare: (content: unknown) => void = () => undefined): unknown {
    let content: unknown
    try {
      content = this.document.toJS({ maxAliasCount: ALIASES_MAX })
    } catch (error) {
      throw new FileError([`${this.name}:1: ${error instanceof Error ? error.message : String(error)}`])
    }
    prepare(content)
    for (const { path, text } of check(content)) this.problem(path, text)
    this.finish()
    return content
  }

  /** Records that a value is invalid; `text` continues its name: "must be a list". */
  problem(path: Path, text: string): void {
    const { name, line } = this.placeOf(path)
    this.add(line, `${name === '' ? this.whole : name} ${text}`)
  }

  /** @throws FileError with every recorded problem, in the order of the lines */
  finish(): void {
    if (this.problems.size === 0) return
    const inOrder = [...this.problems].sort(([, line], [, otherLine]) => line - otherLine)
    throw new FileError(inOrder.slice(0, PROBLEMS_MAX).map(([entry]) => entry))
  }

  /** The line of a value; of its parent when the value is missing. */
  lineOf(path: Path): number {
    return this.placeOf(path).line
  }

  /** An alias within its own anchor would have no end; one without an anchor has no value. */
  private checkAliases(): void {
    visit(this.document, {
      Alias: (_key, alias, ancestors) => {
        const anchor = alias.resolve(this.document)
        const line = this.lineOfNode(alias) ?? 1
        if (anchor === undefined) this.add(line, `*${alias.source} refers to no anchor before it`)
        else if (ancestors.includes(anchor)) this.add(line, `*${alias.source} stands within what it refers to`)
      },
    })
  }

  private add(line: number, text: string): void {
    this.problems.set(`${this.name}:${line}: ${text}`, line)
  }

  /** The place of a value, `models[0].price.input` at line 12: the line of its key, or of the item of a list. */
  private placeOf(path: Path): { readonly name: string; readonly line: number } {
    let node: unknown = this.document.contents
    let name = ''
    let line = 1
    for (const step of path) {
      const parent = isAlias(node) ? node.resolve(this.document) : node
      const isItem = isSeq(parent)
      name += isItem ? `[${step}]` : `${name === '' ? '' : '.'}${step}`
      const pair = isMap(parent)
        ? parent.items.find(({ key }) => isScalar(key) && String(key.value) === step)
        : undefined
      node = isItem ? parent.items[Number(step)] : pair?.value
      line = this.lineOfNode(isItem ? node : pair?.key) ?? line
    }
    return { name, line }
  }

  private lineOfNode(node: unknown): number | undefined {
    const offset = isNode(node) ? node.range?.[0] : undefined
    return offset === undefined ? undefined : this.lineCounter.linePos(offset).line
  }
}

/**
 * Reads and parses a YAML file.
 * @param whole as for `YamlFile`
 * @param named how the file was chosen, such as "SLUICE_CATALOG names the catalog file"
 * @throws FileError when it cannot be read, is too large or is not YAML
 */
export async function readYamlFile(path: string, whole: string, named: string): Promise<YamlFile> {
  const name = basename(path)
  const size = await stat(path).then(
    (found) => found.size,
    (error: Error) => error,
  )
  if (size instanceof Error) {
    throw new FileError([`${name}:1: cannot be read: ${size.message}; ${named}`])
  }
  if (size > FILE_BYTES_MAX) throw new FileError([`${name}:1: is larger than ${FILE_BYTES_MAX} bytes`])
  return new YamlFile(name, await readFile(path, 'utf8'), whole)
}
