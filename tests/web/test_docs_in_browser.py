"""Swagger UI in a real browser: the examples succeed as they stand, without copying an id."""

import shutil
from collections.abc import Iterator

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webdriver import WebDriver
from selenium.webdriver.support.wait import WebDriverWait

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
DRIVER = shutil.which("chromedriver")

pytestmark = pytest.mark.skipif(
    not (CHROMIUM and DRIVER), reason="no browser: install chromium and chromedriver (make browser) to run these"
)

FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--window-size=1280,1600",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",  # nothing but this machine
)


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WebDriver]:
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    driver = webdriver.Chrome(options, webdriver.ChromeService(DRIVER))
    driver.set_script_timeout(30)
    yield driver
    driver.quit()


def wait(browser: WebDriver) -> WebDriverWait:
    return WebDriverWait(browser, 20)


def execute(browser: WebDriver, summary: str) -> tuple[str, str]:
    """Open the operation with this summary, press Execute, and give the status and the body that came back."""
    row = wait(browser).until(
        lambda b: b.find_element(
            By.XPATH,
            f"//div[contains(@class,'opblock ')][.//*[contains(@class,'summary-description')][text()='{summary}']]",
        )
    )
    browser.execute_script("arguments[0].scrollIntoView()", row)
    row.find_element(By.CSS_SELECTOR, ".opblock-summary-control").click()
    button = wait(browser).until(lambda _: row.find_element(By.CSS_SELECTOR, "button.execute"))
    browser.execute_script("arguments[0].click()", button)
    live = wait(browser).until(lambda _: row.find_element(By.CSS_SELECTOR, ".live-responses-table .response"))
    status = live.find_element(By.CSS_SELECTOR, ".response-col_status").text.split()[0]
    body = live.find_element(By.CSS_SELECTOR, ".response-col_description code").text
    return status, body


def test_the_whole_tour_succeeds_by_pressing_execute(browser, served, tmp_path):
    browser.get(f"{served}/docs")
    assert execute(browser, "Create a job")[0] == "201"
    status, body = execute(browser, "Add items")
    assert status == "201"
    assert '"added": 3' in body
    status, body = execute(browser, "Get the next items for a worker")
    assert status == "200"
    assert '"status": "continue"' in body
    status, body = execute(browser, "Send one answer, or many")
    assert status == "200"
    assert '"verdict": "continue"' in body
    status, body = execute(browser, "Read the labels")
    assert status == "200"
    assert '"cat": 1' in body
    status, body = execute(browser, "Get a job")
    assert status == "200"
    assert '"answers": 1' in body
    assert browser.get_screenshot_as_file(str(tmp_path / "docs.png"))
    errors = [entry["message"] for entry in browser.get_log("browser") if entry["level"] == "SEVERE"]
    assert errors == []


def test_redoc_shows_the_operations(browser, served):
    browser.get(f"{served}/redoc")
    wait(browser).until(lambda b: "Create a job" in b.find_element(By.TAG_NAME, "body").text)
