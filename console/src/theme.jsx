// Dark or light: as the system says, until somebody chooses.
import { useEffect, useState } from "preact/hooks";

const KEY = "heliostat.theme";
const system = matchMedia("(prefers-color-scheme: dark)");
const current = () => localStorage.getItem(KEY) ?? (system.matches ? "dark" : "light");
const show = () => {
  document.documentElement.dataset.theme = current();
  dispatchEvent(new Event("themechange")); // plots have their colours in pixels
};
show();

export function ThemeButton() {
  const [theme, setTheme] = useState(current());
  useEffect(() => {
    const change = () => {
      show();
      setTheme(current());
    };
    system.addEventListener("change", change);
    return () => system.removeEventListener("change", change);
  }, []);
  const other = theme === "dark" ? "light" : "dark";
  const turn = () => {
    localStorage.setItem(KEY, other);
    show();
    setTheme(other);
  };
  return (
    <button type="button" class="theme" onClick={turn} aria-label={`Use the ${other} theme`}>
      {theme === "dark" ? "☀" : "☾"}
    </button>
  );
}
