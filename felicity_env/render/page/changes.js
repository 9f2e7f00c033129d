"use strict";
// Shows positions of a game in an element. A change is [number of an element, new text or null, {attribute: value}].
function createPosition(root) {
  const elements = [root, ...root.querySelectorAll("*")];
  const first = new Map();  // what the changed elements are in the document as it was loaded

  function remember(index, text, attributes) {
    if (!first.has(index)) first.set(index, { text: null, attributes: {} });
    const kept = first.get(index), element = elements[index];
    if (text !== null && kept.text === null) kept.text = element.textContent;
    for (const name in attributes) if (!(name in kept.attributes)) kept.attributes[name] = element.getAttribute(name);
  }

  function set(element, text, attributes) {
    if (text !== null && element.textContent !== text) element.textContent = text;
    for (const name in attributes)
      if (element.getAttribute(name) !== attributes[name]) element.setAttribute(name, attributes[name]);
  }

  // Shows the document as it was loaded, with several lists of changes applied one after another.
  return function show(lists) {
    const wanted = new Map();
    for (const [index, kept] of first) wanted.set(index, { text: kept.text, attributes: { ...kept.attributes } });
    for (const [index, text, attributes] of lists.flat()) {
      remember(index, text, attributes);
      if (!wanted.has(index)) wanted.set(index, { text: null, attributes: {} });
      const value = wanted.get(index);
      if (text !== null) value.text = text;
      Object.assign(value.attributes, attributes);
    }
    for (const [index, value] of wanted) set(elements[index], value.text, value.attributes);
  };
}
