"""Drawing of frames in the browser, with viser: a web server on this machine by default."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import socket
from collections.abc import Mapping
from typing import Any

import numpy as np
import pinocchio as pin

from impact_control.util.errors import ImpactControlError, MissingDependencyError
from impact_control.util.types import Matrix, Vector
from impact_control.view.bodies import link_meshes, tool_meshes
from impact_control.view.frame import PLOT_SPAN, ArmFrame, Courses, Frame
from impact_control.view.panel import ALL_JOINTS, Plot, arm_panel, empty_courses, joint_choices, plots_of
from impact_control.view.shapes import Color, Mesh, plane_axes
from impact_control.view.signals import Signals
from impact_control.view.stage import ArmPlacer, ShownSurface, Stage

_ACTUAL: Color = (201, 173, 138)
_EXPECTED: Color = (76, 130, 235)
_BOX: Color = (222, 184, 110)
_FORCE: Color = (224, 49, 49)
_ESTIMATE: Color = (245, 159, 0)
_WAY: Color = (28, 126, 214)
_TARGET: Color = (47, 158, 68)

_SURFACE_SIZE = (0.62, 0.8, 0.025)
"""[m] of the piece of a plane that is shown."""

_VIEWPOINT = np.array([0.95, -1.35, 0.55])
"""[m] from what is looked at to the eye, for a stage of one arm."""

_WAY_POINTS = 60


class ViewError(ImpactControlError):
    """The view cannot be opened."""


def open_server(port: int, host: str) -> Any:
    """Return viser's server at a port of a host. Raises what `require_viewable` does."""
    require_viewable(port, host)
    import viser

    with contextlib.redirect_stdout(io.StringIO()):
        server = viser.ViserServer(host=host, port=port, verbose=False)
    return server


def close_server(server: Any) -> None:
    """Close the page."""
    with contextlib.redirect_stdout(io.StringIO()):
        server.stop()


def require_viewable(port: int, host: str) -> None:
    """Raise MissingDependencyError without viser, ViewError when this port of this host cannot be had."""
    if importlib.util.find_spec("viser") is None:
        raise MissingDependencyError(
            "the view in the browser needs viser: `make demo VIEW=1` installs it, elsewhere `pip install viser`"
        )
    with socket.socket() as probe:
        # As servers do: what only waits for its last packets does not hold the port.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise ViewError(
                f"the view cannot use port {port} of {host} ({reason}): choose another with --port, "
                "or make demo VIEW=1 VIEW_PORT=8081"
            ) from error


def address(port: int, host: str) -> str:
    """Return the address for the browser."""
    return f"http://{'localhost' if host in ('127.0.0.1', '0.0.0.0', '') else host}:{port}"


class Drawing:
    """Page of a stage: scene in the middle, panel at the left, plots at the right."""

    def __init__(self, server: Any, stage: Stage) -> None:
        """Build the page, before the first frame."""
        self._server = server
        self._stage = stage
        self._placers = {name: ArmPlacer(arm) for name, arm in stage.arms.items()}
        self._links: dict[str, list[Any]] = {}
        self._arrows: dict[str, Any] = {}
        self._forces: dict[str, Any] = {}
        self._points: dict[str, Any] = {}
        self._targets: dict[str, Any] = {}
        self._boxes: dict[str, Any] = {}
        self._shown_plots: tuple[object, ...] = ()
        self._plots: list[Any] = []
        scene = server.scene
        server.gui.configure_theme(show_logo=False, show_share_button=False, brand_color=(28, 126, 214))
        server.gui.set_panel_label(f"impact-control: {stage.title}")
        scene.set_up_direction("+z")
        scene.world_axes.visible = False
        scene.configure_environment_map("warehouse", environment_intensity=0.55)
        colors = {"cell_color": (226, 228, 231), "section_color": (206, 210, 214)}
        scene.add_grid("/ground", width=6.0, height=6.0, cell_size=0.1, section_size=0.5, shadow_opacity=0.25, **colors)
        server.initial_camera.look_at = tuple(stage.focus)
        distance = 1.0 if len(stage.arms) == 1 else 1.5
        server.initial_camera.position = tuple(stage.focus + distance * _VIEWPOINT)
        server.initial_camera.fov = 0.75
        for number, surface in enumerate(stage.surfaces):
            self._add_surface(f"/surface{number}", surface)
        for name in stage.boxes:
            self._add_box(name)
        for name in stage.arms:
            self._add_arm(name)
        self._add_panels()

    @property
    def watched(self) -> bool:
        """True while a browser shows the page."""
        return bool(self._server.get_clients())

    # ------------------------------------------------------------------ at each frame

    def show(self, frame: Frame) -> None:
        """Show a frame: places and panel."""
        with self._server.atomic():
            for name, arm in frame.arms.items():
                placed = self._placers[name].place(arm)
                for link, position, rotation in zip(self._links[name], placed.position, placed.rotation, strict=True):
                    link.position, link.wxyz = position, quaternion(rotation)
                self._show_contact(name, placed.points, placed.arrow, placed.force, placed.estimated)
                target = self._targets[name]
                target.visible = arm.target is not None and arm.mode is not None and arm.mode.name in _LED
                if arm.target is not None:
                    target.position = arm.target
            for name, pose in frame.objects.items():
                if name in self._boxes:
                    self._boxes[name].position = pose[:3]
                    self._boxes[name].wxyz = pose[[6, 3, 4, 5]]

    def tell(self, frame: Frame) -> None:
        """Write the panel of a frame."""
        content = "".join(arm_panel(name, arm) for name, arm in frame.arms.items())
        if content != self._panel.content:
            self._panel.content = content

    def plot(self, courses: Mapping[str, Courses]) -> None:
        """Plot the last seconds of the chosen arm; courses: of each arm, by name."""
        chosen = self._arm_choice.value if self._arm_choice is not None else next(iter(self._stage.arms))
        plots = plots_of(courses[chosen], self._joint_choice.value)
        # A gap that enters or leaves changes the number of lines.
        shown = (chosen, self._joint_choice.value, *(len(plot.lines) for plot in plots))
        if shown != self._shown_plots:
            self._shown_plots = shown
            self._make_plots(plots)
        for handle, plot in zip(self._plots, plots, strict=True):
            handle.data = plot.data
            handle.scales = _scales(plot)

    def trace(self, arms: Mapping[str, Signals], start: float, end: float) -> None:
        """Draw the way of the end-effectors from start to end [s]."""
        for name, signals in arms.items():
            way = self._placers[name].way(signals["position"].within(start, end), _WAY_POINTS)
            if len(way) > 1:
                segments = np.stack([way[:-1], way[1:]], axis=1)
                self._server.scene.add_line_segments(f"{_root(name)}/way", segments, _WAY, line_width=2.5)

    def _show_contact(self, name: str, points: Matrix, arrow: Matrix | None, force: float, estimated: bool) -> None:
        handle, label, dots = self._arrows[name], self._forces[name], self._points[name]
        handle.visible = label.visible = dots.visible = arrow is not None
        if arrow is not None:
            color = np.array(_ESTIMATE if estimated else _FORCE, dtype=np.uint8)
            handle.points, handle.colors = arrow[None].astype(np.float32), color
            label.text = f"{'about ' if estimated else ''}{force:.0f} N"
            label.position = arrow[1] + np.array([0.0, 0.0, 0.03])
            dots.points = points.astype(np.float32)

    # ------------------------------------------------------------------ once

    def _add_arm(self, name: str) -> None:
        arm, scene, root = self._stage.arms[name], self._server.scene, _root(name)
        handles = []
        links = link_meshes(arm.robot)
        for number, meshes in enumerate(links):
            handles.append(scene.add_frame(f"{root}/link{number}", show_axes=False))
            own = (*meshes, *tool_meshes(arm.robot)) if number == len(links) - 1 else meshes
            for k, mesh in enumerate(own):
                self._add_mesh(f"{root}/link{number}/part{k}", mesh)
        self._links[name] = handles
        nothing = np.zeros((1, 2, 3))
        self._arrows[name] = scene.add_arrows(
            f"{root}/force", nothing, _FORCE, shaft_radius=0.015, head_radius=0.034, head_length=0.06, visible=False
        )
        self._forces[name] = scene.add_label(f"{root}/force_size", "", visible=False, anchor="bottom-center")
        self._points[name] = scene.add_point_cloud(
            f"{root}/contact", nothing[0], _FORCE, point_size=0.016, point_shape="circle", visible=False
        )
        self._targets[name] = scene.add_icosphere(
            f"{root}/target", radius=0.012, color=_TARGET, opacity=0.8, cast_shadow=False, visible=False
        )
        if name:
            base = self._placers[name].base
            scene.add_label(f"{root}/name", name, position=base + np.array([0.0, 0.0, 0.75]), anchor="center-center")
        placed = self._placers[name].place(ArmFrame())
        for link, position, rotation in zip(handles, placed.position, placed.rotation, strict=True):
            link.position, link.wxyz = position, quaternion(rotation)

    def _add_mesh(self, name: str, mesh: Mesh) -> None:
        self._server.scene.add_mesh_simple(name, mesh.vertices, mesh.faces, color=mesh.color)

    def _add_surface(self, name: str, surface: ShownSurface) -> None:
        rotation = plane_axes(surface.normal)
        width, depth, height = _SURFACE_SIZE
        look: dict[str, Any] = {"color": _ACTUAL}
        if surface.expected:
            look, height = {"color": _EXPECTED, "opacity": 0.4, "cast_shadow": False}, 0.004
        size, middle = (width, depth, height), surface.point - 0.5 * height * surface.normal
        self._server.scene.add_box(name, dimensions=size, wxyz=quaternion(rotation), position=middle, **look)
        corner = surface.point + rotation @ np.array([0.5 * width, -0.5 * depth, 0.0])
        text = "surface as expected" if surface.expected else "surface"
        place = rotation.T @ (corner - surface.point)
        self._server.scene.add_label(f"{name}/label", text, font_screen_scale=0.8, anchor="top-left", position=place)

    def _add_box(self, name: str) -> None:
        shown = self._stage.boxes[name]
        look: dict[str, Any] = {"color": _BOX}
        if shown.expected:
            look = {"color": _EXPECTED, "opacity": 0.4, "cast_shadow": False}
        handle = self._server.scene.add_box(
            f"/box/{name}", dimensions=tuple(shown.size), position=shown.pose[:3], wxyz=shown.pose[[6, 3, 4, 5]], **look
        )
        if not shown.expected:
            self._boxes[name] = handle

    def _add_panels(self) -> None:
        gui = self._server.gui
        gui.main_panel.dock_left()
        gui.main_panel.set_width(330)
        self._panel = gui.add_html("")
        self._plot_panel = gui.add_panel()
        names = [name for name in self._stage.arms if name]
        joints = max(len(arm.rest) for arm in self._stage.arms.values())
        self._plot_tab = self._plot_panel.add_tab("Last seconds")
        with self._plot_tab:
            self._arm_choice = gui.add_dropdown("Arm", names) if names else None
            self._joint_choice = gui.add_dropdown("Joints", joint_choices(joints), initial_value=ALL_JOINTS)
        self._plot_panel.dock_right()
        self._plot_panel.set_width(430)
        self._make_plots(plots_of(empty_courses(joints), ALL_JOINTS))

    def _make_plots(self, plots: tuple[Plot, ...]) -> None:
        for handle in self._plots:
            handle.remove()
        with self._plot_tab:
            common: dict[str, Any] = {"legend": {"show": False}, "axes": _AXES}
            self._plots = [
                self._server.gui.add_uplot(
                    plot.data, plot.lines, title=plot.title, scales=_scales(plot), height=height, **common
                )
                for plot, height in zip(plots, (250, 190, 220), strict=True)
            ]


_LED = ("ANTE", "INTERIM", "POST", "RESUME", "MOVE")
"""Modes in which the reference of the end-effector is followed."""

_AXES = ({"label": "s", "labelSize": 16, "size": 30}, {"size": 46})


def _scales(plot: Plot) -> dict[str, Any]:
    return {"x": {"time": False, "range": [-PLOT_SPAN, 0.0]}, "y": {"range": list(plot.scale)}}


def _root(arm: str) -> str:
    return f"/arm/{arm}" if arm else "/arm"


def quaternion(rotation: Matrix) -> Vector:
    """Return the unit quaternion w, x, y, z of a rotation (3, 3)."""
    x, y, z, w = pin.Quaternion(rotation).coeffs()
    return np.array([w, x, y, z])
