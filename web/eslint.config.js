import js from "@eslint/js";
import svelte from "eslint-plugin-svelte";
import globals from "globals";
import ts from "typescript-eslint";

export default ts.config(
  { ignores: ["dist", "node_modules", "vectors", ".svelte-kit"] },
  js.configs.recommended,
  ...ts.configs.strictTypeChecked,
  ...svelte.configs.recommended,
  {
    languageOptions: {
      globals: { ...globals.browser },
      parserOptions: { project: "./tsconfig.json", extraFileExtensions: [".svelte"] },
    },
    rules: {
      // Texts for people hold numbers.
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true }],
      // Control characters are what some patterns are about.
      "no-control-regex": "off",
      "@typescript-eslint/no-confusing-void-expression": ["error", { ignoreArrowShorthand: true }],
    },
  },
  { files: ["**/*.svelte", "**/*.svelte.ts"], languageOptions: { parserOptions: { parser: ts.parser } } },
  { files: ["*.js", "public/*.js"], ...ts.configs.disableTypeChecked },
);
