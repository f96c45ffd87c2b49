import { readFileSync } from 'node:fs';
import ts from 'typescript';

export interface ExportedNames {
  readonly values: string[];
  readonly types: string[];
}

/** Everything that a declaration file exports by name, sorted. */
export function exportedNames(file: string): ExportedNames {
  const { statements } = ts.createSourceFile(
    file,
    readFileSync(file, 'utf8'),
    ts.ScriptTarget.Latest,
  );
  const names: ExportedNames = { values: [], types: [] };
  for (const statement of statements) {
    if (ts.isExportDeclaration(statement)) addReExports(statement, names);
    if (ts.isVariableStatement(statement)) {
      names.values.push(...statement.declarationList.declarations.map(nameOf));
    }
  }
  return { values: names.values.toSorted(), types: names.types.toSorted() };
}

function addReExports({ exportClause, isTypeOnly }: ts.ExportDeclaration, names: ExportedNames) {
  if (exportClause === undefined || !ts.isNamedExports(exportClause)) {
    throw new Error('An entry point names each export.');
  }
  for (const element of exportClause.elements) {
    names[isTypeOnly || element.isTypeOnly ? 'types' : 'values'].push(nameOf(element));
  }
}

function nameOf({ name }: { readonly name: ts.Node }): string {
  return (name as ts.Identifier).text;
}

/** The packages that declaration files import, sorted. */
export function importedPackages(files: readonly string[]): string[] {
  const imports = files.flatMap((file) =>
    ts.preProcessFile(readFileSync(file, 'utf8')).importedFiles.map(({ fileName }) => fileName),
  );
  return [...new Set(imports.filter((name) => !name.startsWith('.')))].toSorted();
}
