import { Alias, type Document, isMap, isNode, isScalar, isSeq, LineCounter, parseDocument } from 'yaml'

const PROBLEMS_MAX = 20

/** A value of the file together with where it stands: `models[0].price.input` at line 12. */
export interface Field {
  readonly path: string
  readonly line: number
  readonly value: unknown
}

/** A file that does not hold; the message has one line per problem, each with the file, the line and the reason. */
export class CatalogError extends Error {
  override readonly name = 'CatalogError'
  readonly problems: readonly string[]

  constructor(problems: readonly string[]) {
    super(problems.join('\n'))
    this.problems = problems
  }
}

/** Reads a YAML file strictly and collects what is wrong with it, so that an operator sees all of it at once. */
export class YamlReader {
  readonly root: Field
  /** Where each field that was read stands, by its path. */
  readonly lines = new Map<string, number>()
  private readonly file: string
  private readonly what: string
  /** Each with its line; a file of bounded size has a bounded number of them. */
  private readonly problems = new Map<string, number>()
  private readonly lineCounter = new LineCounter()
  private readonly document: Document

  /**
   * @param what the whole of the file, as messages name it
   * @throws CatalogError when the text is not YAML
   */
  constructor(file: string, text: string, what = 'the catalog') {
    this.file = file
    this.what = what
    this.document = parseDocument(text, { lineCounter: this.lineCounter, prettyErrors: false })
    for (const error of this.document.errors) {
      this.add(this.lineCounter.linePos(error.pos[0]).line, error.message)
    }
    this.root = { path: '', line: 1, value: this.document.contents }
    this.finish()
  }

  /** @throws CatalogError with everything that `problem` was called for */
  finish(): void {
    if (this.problems.size === 0) return
    const inOrder = [...this.problems].sort(([, line], [, otherLine]) => line - otherLine)
    throw new CatalogError(inOrder.slice(0, PROBLEMS_MAX).map(([entry]) => entry))
  }

  /** Notes that a field does not hold; `what` continues its path: "must be a list". */
  problem(field: Field, what: string): void {
    this.add(field.line, `${field.path === '' ? this.what : field.path} ${what}`)
  }

  private add(line: number, text: string): void {
    this.problems.set(`${this.file}:${line}: ${text}`, line)
  }

  private field(parent: Field, path: string, node: unknown): Field {
    const resolved = node instanceof Alias ? node.resolve(this.document) : node
    const offset = isNode(node) ? node.range?.[0] : undefined
    const line = offset === undefined ? parent.line : this.lineCounter.linePos(offset).line
    this.lines.set(path, line)
    return { path, line, value: resolved }
  }

  /** The entries of a map whose keys are free, such as image sizes. */
  entries(field: Field): Array<[string, Field]> {
    if (!isMap(field.value)) {
      this.problem(field, 'must be a map of names to values')
      return []
    }
    return field.value.items.map((pair) => {
      const key = isScalar(pair.key) ? String(pair.key.value) : ''
      const path = field.path === '' ? key : `${field.path}.${key}`
      const keyField = this.field(field, path, pair.key)
      const entry = { ...this.field(keyField, path, pair.value), line: keyField.line }
      this.lines.set(path, keyField.line)
      return [key, entry]
    })
  }

  /** The entries of a map by name; names that are not `known` are problems. */
  map(field: Field, known: readonly string[]): ReadonlyMap<string, Field> {
    const entries = new Map(this.entries(field))
    for (const [name, entry] of entries) {
      if (!known.includes(name)) this.problem(entry, `is not a known key; known here: ${known.join(', ')}`)
    }
    return entries
  }

  /** The member of a map; a missing one is a problem of the map. */
  required(map: ReadonlyMap<string, Field>, owner: Field, name: string): Field | undefined {
    const field = map.get(name)
    if (field === undefined && isMap(owner.value)) {
      this.add(owner.line, `${owner.path === '' ? '' : `${owner.path}.`}${name} is missing`)
    }
    return field
  }

  list(field: Field | undefined): Field[] {
    if (field === undefined) return []
    if (!isSeq(field.value)) {
      this.problem(field, 'must be a list')
      return []
    }
    return field.value.items.map((item, index) => this.field(field, `${field.path}[${index}]`, item))
  }

  /** The whole value of a field as JSON has it, for what is not read member by member. */
  json(field: Field): unknown {
    return isNode(field.value) ? (field.value.toJS(this.document) as unknown) : null
  }

  /** The plain value of a field, or undefined where a list or a map stands. */
  scalar(field: Field): unknown {
    return isScalar(field.value) ? field.value.value : undefined
  }
}
