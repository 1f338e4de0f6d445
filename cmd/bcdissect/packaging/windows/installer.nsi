; The installer for Windows. "make packages" and "make windows" run makensis with
;   VERSION  the version for people
;   FROM     the folder with the files to install
;   OUT      the installer
; It installs for one user and needs no rights. /S installs without windows, /D=FOLDER elsewhere.

!define UNINSTALL "Software\Microsoft\Windows\CurrentVersion\Uninstall\bcdissect"
!define APPLICATION "Software\Classes\Applications\bcdissect.exe"
!define CAPTURE "Software\Classes\bcdissect.capture"
!define RUN "Software\Microsoft\Windows\CurrentVersion\App Paths\bcdissect.exe"

Unicode true
Target amd64-unicode
SetCompressor /SOLID lzma
Name "bcdissect ${VERSION}"
OutFile "${OUT}"
RequestExecutionLevel user
InstallDir "$LOCALAPPDATA\Programs\bcdissect"
InstallDirRegKey HKCU "${UNINSTALL}" "InstallLocation"
Icon "${ICON}"
UninstallIcon "${ICON}"
XPStyle on
ManifestSupportedOS all
ManifestDPIAware true

Page directory
Page instfiles
UninstPage uninstConfirm
UninstPage instfiles

; Opens adds bcdissect to "Open with" of a kind of files, and leaves the usual program.
!macro Opens EXTENSION
  WriteRegStr HKCU "Software\Classes\${EXTENSION}\OpenWithProgids" "bcdissect.capture" ""
  WriteRegStr HKCU "${APPLICATION}\SupportedTypes" "${EXTENSION}" ""
!macroend

!macro Forget EXTENSION
  DeleteRegValue HKCU "Software\Classes\${EXTENSION}\OpenWithProgids" "bcdissect.capture"
  DeleteRegKey /ifempty HKCU "Software\Classes\${EXTENSION}\OpenWithProgids"
  DeleteRegKey /ifempty HKCU "Software\Classes\${EXTENSION}"
!macroend

Section
  SetOutPath "$INSTDIR"
  ClearErrors
  File /r "${FROM}/*"
  IfErrors 0 +3
    MessageBox MB_ICONSTOP "A file could not be written. Close bcdissect and Wireshark, and install again." /SD IDOK
    Abort
  WriteUninstaller "$INSTDIR\uninstall.exe"
  CreateDirectory "$SMPROGRAMS\bcdissect"
  SetOutPath "$PROFILE" ; where the program starts
  CreateShortcut "$SMPROGRAMS\bcdissect\bcdissect.lnk" "$INSTDIR\bcdissect.exe"
  CreateShortcut "$SMPROGRAMS\bcdissect\Uninstall bcdissect.lnk" "$INSTDIR\uninstall.exe"
  SetOutPath "$INSTDIR"

  WriteRegStr HKCU "${CAPTURE}" "" "Capture of network traffic"
  WriteRegStr HKCU "${CAPTURE}\DefaultIcon" "" "$INSTDIR\bcdissect.exe,0"
  WriteRegStr HKCU "${CAPTURE}\shell\open\command" "" '"$INSTDIR\bcdissect.exe" "%1"'
  WriteRegStr HKCU "${APPLICATION}\shell\open\command" "" '"$INSTDIR\bcdissect.exe" "%1"'
  !insertmacro Opens ".pcap"
  !insertmacro Opens ".pcapng"
  WriteRegStr HKCU "${RUN}" "" "$INSTDIR\bcdissect.exe"

  WriteRegStr HKCU "${UNINSTALL}" "DisplayName" "bcdissect"
  WriteRegStr HKCU "${UNINSTALL}" "DisplayVersion" "${VERSION}"
  WriteRegStr HKCU "${UNINSTALL}" "DisplayIcon" "$INSTDIR\bcdissect.exe,0"
  WriteRegStr HKCU "${UNINSTALL}" "Publisher" "bcdissect authors"
  WriteRegStr HKCU "${UNINSTALL}" "URLInfoAbout" "https://github.com/bcdissect/bcdissect"
  WriteRegStr HKCU "${UNINSTALL}" "InstallLocation" "$INSTDIR"
  WriteRegStr HKCU "${UNINSTALL}" "UninstallString" '"$INSTDIR\uninstall.exe"'
  WriteRegStr HKCU "${UNINSTALL}" "QuietUninstallString" '"$INSTDIR\uninstall.exe" /S'
  WriteRegDWORD HKCU "${UNINSTALL}" "NoModify" 1
  WriteRegDWORD HKCU "${UNINSTALL}" "NoRepair" 1
SectionEnd

; Only what was installed is removed: recordings stay.
Section "Uninstall"
  !include "${LIST}"
  Delete "$INSTDIR\uninstall.exe"
  RMDir "$INSTDIR"
  Delete "$SMPROGRAMS\bcdissect\bcdissect.lnk"
  Delete "$SMPROGRAMS\bcdissect\Uninstall bcdissect.lnk"
  RMDir "$SMPROGRAMS\bcdissect"
  !insertmacro Forget ".pcap"
  !insertmacro Forget ".pcapng"
  DeleteRegKey HKCU "${CAPTURE}"
  DeleteRegKey HKCU "${APPLICATION}"
  DeleteRegKey HKCU "${RUN}"
  DeleteRegKey HKCU "${UNINSTALL}"
SectionEnd
