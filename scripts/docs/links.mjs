// Checks that every relative link of the project's Markdown files leads to a file, and its anchor to a heading.
import { existsSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { anchorOf } from './markdown.mjs'

const LINK =
  /\[(?:[^\][]|\[[^\]]*\])*\]\(\s*<?([^)\s>]+)>?(?:\s+"[^"]*")?\s*\)|^\[[^\]]+\]:\s*(\S+)|(?:src|href)="([^"]+)"/gm
const ELSEWHERE = /^([a-z][a-z0-9+.-]*:|\/\/)/i

/** The text without blocks and spans of code, whose brackets are not links; lines stay where they are. */
function prose(text) {
  return text
    .replace(/^( *)(`{3,}|~{3,})[^\n]*\n[\s\S]*?^\1\2[^\n]*$/gm, (block) => block.replace(/[^\n]/g, ''))
    .replace(/^( {4}|\t).*$/gm, '')
    .replace(/``[^\n]*?``|`[^`\n]*`/g, (span) => ' '.repeat(span.length))
}

/** The anchors of a page: its headings, of which the second of the same name ends in -1, and its named elements. */
export function anchorsOf(text) {
  const anchors = new Set()
  const counts = new Map()
  const outside = text.replace(/^( *)(`{3,}|~{3,})[^\n]*\n[\s\S]*?^\1\2[^\n]*$/gm, '')
  for (const [, heading] of outside.matchAll(/^ {0,3}#{1,6}\s+(.+?)\s*#*$/gm)) {
    const anchor = anchorOf(heading.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1').replace(/[`*]/g, ''))
    const count = counts.get(anchor) ?? 0
    counts.set(anchor, count + 1)
    anchors.add(count === 0 ? anchor : `${anchor}-${count}`)
  }
  for (const [, name] of text.matchAll(/<a\s+(?:id|name)="([^"]+)"/g)) anchors.add(name)
  return anchors
}

/**
 * The links that lead nowhere.
 * @param {string} root the folder of the project
 * @param {readonly string[]} files paths of Markdown files below it
 * @returns {string[]} a sentence for each
 */
export function brokenLinks(root, files) {
  const anchors = new Map()
  const anchorsAt = (path) => {
    if (!anchors.has(path)) anchors.set(path, anchorsOf(readFileSync(join(root, path), 'utf8')))
    return anchors.get(path)
  }
  const faults = []
  for (const file of files) {
    const text = prose(readFileSync(join(root, file), 'utf8'))
    for (const match of text.matchAll(LINK)) {
      const link = match[1] ?? match[2] ?? match[3]
      if (ELSEWHERE.test(link)) continue
      const [path = '', anchor] = link.split('#')
      const target = path === '' ? file : normalize(join(dirname(file), decodeURIComponent(path)))
      const place = `${file}:${text.slice(0, match.index).split('\n').length}`
      if (!existsSync(join(root, target))) faults.push(`${place}: ${link} leads to no file`)
      else if (anchor !== undefined && target.endsWith('.md') && !anchorsAt(target).has(anchor))
        faults.push(`${place}: ${link} leads to no heading of ${target}`)
      else if (path.endsWith('/') && !statSync(join(root, target)).isDirectory())
        faults.push(`${place}: ${link} is no folder`)
    }
  }
  return faults
}
