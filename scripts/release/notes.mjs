// The notes of a release: the section of its version in CHANGELOG.md.

/**
 * @param {string} changelog the text of CHANGELOG.md
 * @param {string} version of package.json
 * @param {{ snapshot: boolean }} options a snapshot may be unreleased, or without any section
 * @returns {string} Markdown
 * @throws {Error} unless the version has a section with a date
 */
export function releaseNotes(changelog, version, { snapshot }) {
  const sections = changelog.split(/^(?=## )/m).slice(1);
  const own = sections.filter((each) => each.startsWith(`## ${version} (`));
  const [section] = own;
  const [, text] = /^## [^\n]* \(\d{4}-\d\d-\d\d\)\n+(.*)/s.exec(section ?? '') ?? [];
  if (!snapshot && (text === undefined || own.length > 1)) {
    throw new Error(
      `CHANGELOG.md needs exactly one section for ${version} with its date, ` +
        `\`## ${version} (2026-11-21)\`; \`npm run release -- --snapshot\` needs none`,
    );
  }
  if (text !== undefined && !snapshot) return `# paygate ${version}\n\n${text.trim()}\n`;
  const unreleased =
    section?.replace(/^## [^\n]*\n+/, '').trim() ?? 'The changelog has no section for it.';
  return `# paygate ${version}, A SNAPSHOT, NOT A RELEASE\n\n${unreleased}\n`;
}
