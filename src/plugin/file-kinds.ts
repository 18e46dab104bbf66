// The kind of a file in a plugin, by its name: a document, which stays unchanged, or code. Pure.

import type { Dialect } from './tokens.ts';

/**
 * Documents, and translations: these hold the plugin's texts as they were, by which gettext finds
 * them. A text that was rewritten is shown untranslated, so with the right link.
 */
const documents =
  /\.(?:md|markdown|txt|rst|adoc|asciidoc|textile|rtf|pdf|docx?|odt|po|pot|mo|eml)$/i;
const documentNames =
  /(?:^|\/)(?:readme|change_?logs?|changes|history|licen[cs]e|copying|authors|contributors|contributing|notice|credits|security|code_of_conduct)(?:[-_](?:[a-z]{2}(?:[-_][a-z]{2})?|mit|apache|gpl))?(?:\.html?)?$/i;

export const isDocument = (name: string): boolean =>
  documents.test(name) || documentNames.test(name);

/** Files that are not text: compiled programs, archives, pictures, source maps. */
const packed =
  /\.(?:phar|wasm|map|zip|jar|war|aar|gz|tgz|tar|bz2|xz|7z|rar|br|zst|exe|dll|so|dylib|class|py[co]|node|s?db|sqlite3?|png|jpe?g|gif|webp|avif|ico|woff2?|ttf|otf|eot)$/i;

export const isPacked = (name: string): boolean => packed.test(name);

const php = /\.(?:php\d?|phps|phtml|inc|module|install|theme|profile|engine|ctp)$/i;
const markup =
  /\.(?:x?html?|tpl|twig|vue|svelte|astro|liquid|hbs|handlebars|mustache|ejs|erb|jspx?|aspx?|cshtml|njk|latte|xml|svg)$/i;
const hash =
  /(?:\.(?:py|rb|sh|bash|pl|pm|ya?ml|toml|ini|cfg|conf|properties|env|neon|exs?|coffee|rake|gemspec|tf)|(?:^|\/)(?:\.env[\w.-]*|\.htaccess|Dockerfile|Makefile|Gemfile|Rakefile))$/i;

export function dialectOf(name: string, text: string): Dialect {
  const isPhp = php.test(name) || text.slice(0, 200).includes('<?php');
  const isTemplate = /\.(?:blade|tpl|view|html)\.php$/i.test(name) || /^\s*<(?!\?)/.test(text);
  return {
    php: isPhp && !isTemplate && !text.includes('<?'),
    markup: isPhp || markup.test(name) || /^(?:\xef\xbb\xbf)?\s*<[!?a-z]/i.test(text.slice(0, 200)),
    hash: hash.test(name),
    nested: false,
  };
}
