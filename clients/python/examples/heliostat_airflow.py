# SPDX-License-Identifier: Apache-2.0
"""An operator for Airflow (2.4 or later) that runs a task as a job of a Heliostat federation: put this file and heliostat.py into the folder
`plugins` or `dags`.

    from heliostat_airflow import HeliostatOperator

    train = HeliostatOperator(task_id="train", job={"name": "train", "gpu": "H100:8", "time": "6h", "run": "python3 train.py"})

The job's output goes to the task's log, and the task's result (XCom) is the job's answer. A task that is tried again gets a new job; a worker
that is lost and started again for the same try finds the job that it had submitted, by its idempotency key. A task that is ended cancels its job.

This file was not tried with Airflow itself, which is not in Debian: it is compiled, and run with a stand-in for BaseOperator.
"""
from __future__ import annotations

import codecs
from typing import Any, Mapping, Optional, Sequence, Union

from airflow.exceptions import AirflowException
from airflow.models import BaseOperator

import heliostat


class HeliostatOperator(BaseOperator):
    """Submits a job, follows its output, and fails if the job does not succeed.

    job:     a job file as a dictionary or as YAML text (a template)
    context: a context of the settings of `helio` on the worker
    broker, token: in place of those of the settings
    timeout: seconds after which the job is cancelled and the task fails; None: no bound but the job's own time limit
    """

    template_fields: Sequence[str] = ("job",)
    ui_color = "#f4d58d"

    def __init__(self, *, job: Union[Mapping[str, Any], str], context: Optional[str] = None, broker: Optional[str] = None, token: Optional[str] = None,
                 timeout: Optional[float] = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.job, self.helio_context, self.broker, self.token, self.timeout = job, context, broker, token, timeout
        self.job_id: Optional[str] = None

    def _client(self) -> heliostat.Client:
        return heliostat.Client(self.broker, self.token, context=self.helio_context)

    def execute(self, context: Mapping[str, Any]) -> heliostat.Job:
        client, task = self._client(), context["ti"]
        key = f"airflow:{task.dag_id}:{task.run_id}:{task.task_id}:{task.map_index}:{task.try_number}"
        try:
            submission = client.submit(self.job, idempotency_key=heliostat_key(key))
            self.job_id = submission.id
            self.log.info("job %s%s", submission.id, f"; note: {submission.note}" if submission.note else "")
            if self.timeout is None:
                self._log_output(client, submission.id)
            return client.wait(submission.id, timeout=self.timeout, check=True)
        except heliostat.WaitTimeout as error:
            client.cancel(str(self.job_id))
            raise AirflowException(str(error)) from error
        except heliostat.HeliostatError as error:
            raise AirflowException(str(error)) from error

    def _log_output(self, client: heliostat.Client, id: str) -> None:
        decoder, line = codecs.getincrementaldecoder("utf-8")("replace"), ""
        for piece in client.logs(id, follow=True):
            *lines, line = (line + decoder.decode(piece)).split("\n")
            for text in lines:
                self.log.info("%s", text)
        if line:
            self.log.info("%s", line)

    def on_kill(self) -> None:
        if self.job_id:
            self._client().cancel(self.job_id)


def heliostat_key(text: str) -> str:
    """An idempotency key has at most 120 printable characters without blanks."""
    import hashlib
    return "airflow-" + hashlib.sha256(text.encode()).hexdigest()
